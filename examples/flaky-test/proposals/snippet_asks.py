from tools import run_tests

ran = run_tests(["retry"])
return {"tree": ran["tree"], "cause": "should the deadline count pauses, or attempts?", "ambiguous": True}
