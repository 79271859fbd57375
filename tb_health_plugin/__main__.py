"""`python -m tb_health_plugin` is `tb-health`."""

import sys

from tb_health_plugin.cli.main import main

sys.exit(main())
