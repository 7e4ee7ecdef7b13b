"""What is right and wrong with a server's or a site's machine, in lines for people; nothing is
changed.
"""

from tacit.deployment.doctor.finding import Finding, State
from tacit.deployment.doctor.machine import look_at_machine
from tacit.deployment.doctor.server import look_at_server
from tacit.deployment.doctor.site import look_at_site

__all__ = ["Finding", "State", "look_at_machine", "look_at_server", "look_at_site"]
