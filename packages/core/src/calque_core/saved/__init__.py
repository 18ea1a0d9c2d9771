"""Programs that last: jaxprs as plain data.

Read next: `writing.py` and `reading.py`.
"""
