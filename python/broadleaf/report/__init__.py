"""`broadleaf report`: one self-contained page that shows a platform, its plans, and what limits them."""
