"""Settings of Django's own tests, for the server at $PGHOST and $PGPORT."""

import os

_here = {"ENGINE": "django.db.backends.postgresql", "USER": "postgres",
         "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"]}
DATABASES = {"default": {**_here, "NAME": "django"}, "other": {**_here, "NAME": "django2"}}
SECRET_KEY = "tests"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
