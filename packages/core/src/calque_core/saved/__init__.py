"""Programs that last: jaxprs as plain data, and as the text that `print` shows.

Read next: `writing.py` and `reading.py`, the data; `parsing.py`, the text.
"""
