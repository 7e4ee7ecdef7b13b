"""What a release is made of: distributions, bill of materials, licences, install sizes."""
