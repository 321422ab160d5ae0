from tools import list_stock

stock = list_stock()
return {
    "missing": [item["name"] for item in stock if item["count"] == 0],
    "total": sum(item["count"] for item in stock),
}
