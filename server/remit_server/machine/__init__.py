"""What this machine is and has: free memory and disk, installed packages, the processes at a socket, and the time."""
