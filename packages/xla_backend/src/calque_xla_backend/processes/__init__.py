"""The processes that run one program together: how they meet, notice each other's end, and exchange messages."""
