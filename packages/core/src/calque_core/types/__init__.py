"""What an array is: its type, its dtype, its methods."""
