"""The Harey Tortoise: Grupp, Davis and Swanson, USENIX ATC 2013."""
