import type { CreateLeadRequest, Leadwire, ScheduleRequest } from '@leadwire/client'
import type { LeadEventType } from '@leadwire/contracts'
import { Argument, type Command } from 'commander'
import { connectApi } from '../api'
import { type Api, findApi } from '../connection'
import { render } from '../output'
import { addApiOptions } from './run'

/** The status `test` makes this lead a test lead. */
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
  day: '2-digit',
  month: '2-digit',
  year: 'numeric',
})

/**
 * Builds an appointment or callback for tomorrow at ten, for the first user of the account. Creates a user if
 * there is none.
 */
const buildEntry = async ({ api }: Leadwire): Promise<ScheduleRequest> => {
  const [first] = (await api.GET('/manage/users')).data!.data
  const user = { email: 'test@example.com', name: 'Test of leadwire trigger' }
  const { id } = first ?? (await api.POST('/manage/users', { body: user })).data!.data
  return { user_id: id, date: `${day.format(Date.now() + DAY_MS)} 10:00`, notify: false }
}

const scheduleAppointment = async (leadwire: Leadwire, reference: string): Promise<number> =>
  (await leadwire.leads.scheduleAppointment(reference, await buildEntry(leadwire))).id

const scheduleCallback = async (leadwire: Leadwire, reference: string): Promise<number> =>
  (await leadwire.leads.scheduleCallback(reference, await buildEntry(leadwire))).id

const LATER = { date: `${day.format(Date.now() + 2 * DAY_MS)} 10:00` }

/** The operation on a new lead that causes the event, for each event type. */
const causes: Partial<Record<LeadEventType, (leadwire: Leadwire, reference: string) => Promise<unknown>>> = {
  'lead.created': async () => undefined,
  'lead.updated': ({ leads }, reference) => leads.update(reference, { value: 1 }),
  'appointment.scheduled': scheduleAppointment,
  'callback.scheduled': scheduleCallback,
  'appointment.rescheduled': async (leadwire, reference) =>
    leadwire.leads.rescheduleAppointment(reference, await scheduleAppointment(leadwire, reference), LATER),
  'appointment.cancelled': async (leadwire, reference) =>
    leadwire.leads.cancelAppointment(reference, await scheduleAppointment(leadwire, reference)),
  'callback.rescheduled': async (leadwire, reference) =>
    leadwire.leads.rescheduleCallback(reference, await scheduleCallback(leadwire, reference), LATER),
  'callback.cancelled': async (leadwire, reference) =>
    leadwire.leads.cancelCallback(reference, await scheduleCallback(leadwire, reference)),
  'attachment.added': ({ leads }, reference) =>
    leads.attach(reference, {
      name: 'Test of leadwire trigger',
      fileName: 'test.txt',
      content: new Blob(['A test of leadwire trigger.\n']),
    }),
  'lead.erased': ({ api }, reference) =>
    api.POST('/manage/leads/{reference}/erase', { params: { path: { reference } } }),
  'note.added': ({ api }, reference) =>
    api.POST('/manage/leads/{reference}/notes', {
      params: { path: { reference } },
      body: { text: 'A test of leadwire trigger.' },
    }),
  // Creates a second lead with the same customer. This second lead gets the event.
  'lead.duplicate_suspected': ({ leads }) => leads.create(LEAD),
}

/** Adds `leadwire trigger`. */
export const addTrigger = (program: Command): void => {
  addApiOptions(program.command('trigger'))
    .description('create a test lead and cause an event of this type')
    .addArgument(new Argument('<event>').choices(Object.keys(causes)))
    .option('--json', 'print JSON', false)
    .action(async (event: LeadEventType, options: Partial<Api> & { json: boolean }) => {
      const leadwire = connectApi(findApi(process.env, options))
      const { reference } = await leadwire.leads.create(LEAD)
      await causes[event]!(leadwire, reference)
      process.stdout.write(`${render({ event, lead_reference: reference }, options)}\n`)
    })
}
