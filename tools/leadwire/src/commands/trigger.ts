import type { CreateLeadRequest, Leadwire, ScheduleRequest } from '@leadwire/client'
import type { LeadEventType } from '@leadwire/contracts'
import { Argument, type Command } from 'commander'
import { connectApi } from '../api'
import { type Api, findApi } from '../connection'
import { render } from '../output'
import { addApiOptions } from './run'

/** Its status makes it a test lead. */
const LEAD: CreateLeadRequest = {
  name: 'Test of leadwire trigger',
  first_name: 'Test',
  last_name: 'Lead',
  email: 'test@example.com',
  phone: '020 7946 0000',
  postcode: 'SW1A 1AA',
  referrer: 'Website',
  status: 'test',
}

const DAY_MS = 86_400_000

const day = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'Europe/London',
  ...{ day: '2-digit', month: '2-digit', year: 'numeric' },
})

/** Tomorrow at ten, for the first user of the account; for a new one where there is none. */
const entry = async ({ api }: Leadwire): Promise<ScheduleRequest> => {
  const [first] = (await api.GET('/manage/users')).data!.data
  const user = { email: 'test@example.com', name: 'Test of leadwire trigger' }
  const { id } = first ?? (await api.POST('/manage/users', { body: user })).data!.data
  return { user_id: id, date: `${day.format(Date.now() + DAY_MS)} 10:00`, notify: false }
}

const appointmentOf = async (leadwire: Leadwire, reference: string): Promise<number> =>
  (await leadwire.leads.scheduleAppointment(reference, await entry(leadwire))).id

const callbackOf = async (leadwire: Leadwire, reference: string): Promise<number> =>
  (await leadwire.leads.scheduleCallback(reference, await entry(leadwire))).id

const LATER = { date: `${day.format(Date.now() + 2 * DAY_MS)} 10:00` }

/** What causes an event for a lead that was just created, of each type that can be triggered. */
const causes: Partial<Record<LeadEventType, (leadwire: Leadwire, reference: string) => Promise<unknown>>> = {
  'lead.created': async () => undefined,
  'lead.updated': ({ leads }, reference) => leads.update(reference, { value: 1 }),
  'appointment.scheduled': appointmentOf,
  'callback.scheduled': callbackOf,
  'appointment.rescheduled': async (leadwire, reference) =>
    leadwire.leads.rescheduleAppointment(reference, await appointmentOf(leadwire, reference), LATER),
  'appointment.cancelled': async (leadwire, reference) =>
    leadwire.leads.cancelAppointment(reference, await appointmentOf(leadwire, reference)),
  'callback.rescheduled': async (leadwire, reference) =>
    leadwire.leads.rescheduleCallback(reference, await callbackOf(leadwire, reference), LATER),
  'callback.cancelled': async (leadwire, reference) =>
    leadwire.leads.cancelCallback(reference, await callbackOf(leadwire, reference)),
  'attachment.added': ({ leads }, reference) =>
    leads.attach(reference, {
      ...{ name: 'Test of leadwire trigger', fileName: 'test.txt' },
      content: new Blob(['A test of leadwire trigger.\n']),
    }),
  'lead.erased': ({ api }, reference) =>
    api.POST('/manage/leads/{reference}/erase', { params: { path: { reference } } }),
  // The event is of the second lead.
  'lead.duplicate_suspected': ({ leads }) => leads.create(LEAD),
}

/** `leadwire trigger` */
export const addTrigger = (program: Command): void => {
  addApiOptions(program.command('trigger'))
    .description('create a test lead, and with it an event of a type')
    .addArgument(new Argument('<event>').choices(Object.keys(causes)))
    .option('--json', 'print JSON', false)
    .action(async (event: LeadEventType, options: Partial<Api> & { json: boolean }) => {
      const leadwire = connectApi(findApi(process.env, options))
      const { reference } = await leadwire.leads.create(LEAD)
      await causes[event]!(leadwire, reference)
      process.stdout.write(`${render({ event, lead_reference: reference }, options)}\n`)
    })
}
