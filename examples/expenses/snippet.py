import asyncio

from tools import get_expenses, get_limit, get_team

team = get_team()
limits = {level: get_limit(level) for level in {employee["level"] for employee in team}}


async def main():
    reports = await asyncio.gather(*[get_expenses(employee=employee["id"]) for employee in team])
    over = []
    for employee, report in zip(team, reports):
        spent = sum(line["amount"] for line in report if line["status"] == "approved")
        limit = limits[employee["level"]]
        if spent > limit:
            over.append({"name": employee["name"], "spent": round(spent, 2), "limit": limit})
    return over


return await main()
