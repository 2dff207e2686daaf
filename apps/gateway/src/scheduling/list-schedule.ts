import { Customer, LeadListItem, type SchedulePosition } from '@leadwire/contracts'
import {
  enumeration,
  INVALID_CURSOR,
  id,
  instant,
  isInstant,
  partial,
  splitPlace,
  truncateInstant,
} from '@leadwire/requests'
import { ServiceError } from '@leadwire/service-kit'
import { listOperation } from '../api/list-operation'
import { described, named, UserName } from '../api/schemas'
import { ScheduledRecord } from './schedule'

const KINDS = ['appointment', 'callback'] as const

const { reference, name, status, value } = LeadListItem.properties
const { name: customerName, email, phone, mobile, postcode } = Customer.properties

const ScheduleEntry = described(
  'ScheduleEntry',
  'An appointment or a callback with its lead, customer and user.',
  {
    kind: enumeration(KINDS, undefined, 'callback'),
    ...ScheduledRecord.properties,
    lead: named('ScheduleLead', { reference, name, status, value }),
    customer: named('ScheduleCustomer', { name: customerName, email, phone, mobile, postcode }),
    user: UserName,
  },
)

const ScheduleQuery = partial({
  from: instant('Only entries at or after this time. ISO 8601 with an offset.'),
  to: instant('Only entries before this time. ISO 8601 with an offset.'),
  user_id: id('Only entries that are assigned to the user with this ID.'),
  kind: enumeration(KINDS, 'Only appointments, or only callbacks. Default both.'),
  state: enumeration(
    ['open', 'done', 'all'],
    '`open`: only entries that are neither done nor cancelled. `done`: only done entries. `all`: all entries, including cancelled ones. Default `open`.',
    'open',
  ),
})

const parsePosition = (place: string): SchedulePosition => {
  const [date, kind, entryId] = splitPlace(
    place,
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.]\d{6}Z)_(appointment|callback)_([1-9]\d{0,14})$/,
  )
  // PostgreSQL refuses a date that does not exist, such as 31 February.
  if (!isInstant(date!)) throw ServiceError.invalid({ cursor: [`The cursor ${INVALID_CURSOR}`] })
  return { date: date!, kind: kind!, id: Number(entryId) }
}

const renderPosition = ({ date, kind, id: entryId }: SchedulePosition): string => `${date}_${kind}_${entryId}`

export const listSchedule = listOperation({
  route: 'GET /manage/schedule',
  scope: ['leads:read', 'manage:read'],
  tag: 'Scheduling',
  summary: 'List appointments and callbacks of all leads',
  description:
    'Returns appointments and callbacks (entries), ordered by `date`, then `kind`, then `id`, up to 100 per response. Pass `next_cursor` as `cursor`, with the same filters, to get the next entries. Entries of erased leads are left out. A response may therefore have fewer entries, or none, and still have a `next_cursor`, which is null only at the end.',
  filters: ScheduleQuery,
  record: ScheduleEntry,
  cursor: 'The `next_cursor` of the previous response. Omit it for the earliest entries.',
  answer: 'The earliest entries, or the entries after the cursor.',
  find: async (
    { accountId, clients, limits },
    { from, to, user_id: userId, kind, state = 'open' },
    place,
  ) => {
    const asked = {
      accountId,
      from: from && truncateInstant(from),
      to: to && truncateInstant(to),
      userId,
      kind,
      state,
      after: place === undefined ? undefined : parsePosition(place),
    }
    const { items, nextAfter } = await clients.leads.listSchedule(asked, limits)
    return { items, nextAfter: nextAfter && renderPosition(nextAfter) }
  },
})
