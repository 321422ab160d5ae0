"""What every kind of box needs of the machine: the program that makes walls, and a folder that others cannot write."""
