from tools import edit_file, read_file

file = read_file("retry/core.py")
lines = file["text"].splitlines()
number = next(i for i, line in enumerate(lines, 1) if "attempts=3" in line)
old = lines[number - 1]
patch = f"@@ -{number},1 +{number},1 @@\n-{old}\n+{old.replace('attempts=3', 'attempts=30')}\n"
done = edit_file("retry/core.py", file["digest"], patch, "try-more-often")
return {"tree": done["tree"], "cause": "there were too few attempts"}
