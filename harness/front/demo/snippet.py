from tools import ToolDenied, list_airports, record_survey

northernmost = {}
rows_read = 0
for state in ["AK", "WA", "OR"]:
    airports = list_airports(state=state)
    rows_read += len(airports)
    north = max(airports, key=lambda airport: airport["latitude"])
    record_survey(state=state, iata=north["iata"], operation_id=f"north-{state}")
    northernmost[state] = f"{north['name']} ({north['latitude']:.2f} degrees)"

record_survey(state="AK", iata="BRW", operation_id="north-AK")  # the same operation: answered by its receipt

try:
    list_airports(state="TX")  # outside the contract's scope
    refused = "nothing"
except ToolDenied as denial:
    refused = denial.code
    print(denial)

return {"northernmost": northernmost, "rows_read": rows_read, "refused": refused}
