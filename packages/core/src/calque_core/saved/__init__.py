"""Programs that last: jaxprs as plain data, as the text that `print` shows, and as Python source.

Read next: `writing.py` and `reading.py`, the data; `parsing.py`, the text; `python_source.py`, the source.
"""
