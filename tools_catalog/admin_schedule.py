"""The schedules of django-celery-beat, in the style of the other pages."""

from django.contrib import admin
from django_celery_beat import admin as theirs
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from tenants.admin import ForTheWholeService

for model in (PeriodicTask, IntervalSchedule, CrontabSchedule, ClockedSchedule, SolarSchedule):
    admin.site.unregister(model)


class TaskSelect(UnfoldAdminSelectWidget, theirs.TaskSelectWidget):
    pass


class PeriodicTaskForm(theirs.PeriodicTaskForm):
    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["task"].widget = UnfoldAdminTextInputWidget()
        self.fields["regtask"].widget = TaskSelect()


@admin.register(PeriodicTask)
class PeriodicTaskAdmin(theirs.PeriodicTaskAdmin, ForTheWholeService):
    form = PeriodicTaskForm


@admin.register(IntervalSchedule)
class IntervalScheduleAdmin(ForTheWholeService):
    pass


@admin.register(CrontabSchedule)
class CrontabScheduleAdmin(theirs.CrontabScheduleAdmin, ForTheWholeService):
    pass


@admin.register(ClockedSchedule)
class ClockedScheduleAdmin(theirs.ClockedScheduleAdmin, ForTheWholeService):
    pass


@admin.register(SolarSchedule)
class SolarScheduleAdmin(ForTheWholeService):
    pass
