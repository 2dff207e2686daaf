import { api, dataOf, type Problem, type Schemas, slowApi } from './api'
import type { Tone } from './parts/badge'
import type { Filter } from './parts/filters'
import { token } from './session'
import type { User } from './users'

export type Lead = Schemas['Lead']
export type LeadListItem = Schemas['LeadListItem']
export type Status = Lead['status']

export const STATUS_WORDS: Record<Status, string> = {
  open: 'Open',
  appointment_scheduled: 'Appointment scheduled',
  awaiting_email: 'Awaiting e-mail',
  callback_later: 'Call back later',
  duplicate: 'Duplicate',
  lost: 'Lost',
  not_interested: 'Not interested',
  number_not_recognised: 'Number not recognised',
  out_of_area: 'Out of area',
  sold: 'Sold',
  spam: 'Spam',
  test: 'Test',
  unable_to_contact: 'Unable to contact',
}

export const toneOf = (status: Status): Tone =>
  status === 'sold' ? 'good' : ['open', 'appointment_scheduled'].includes(status) ? 'warn' : 'calm'

const REFERRERS: Record<Lead['referrer'], true> = {
  Canvasser: true,
  Direct: true,
  Email: true,
  'Existing Customer': true,
  Facebook: true,
  'Live Chat': true,
  Phone: true,
  'Purchased Lead': true,
  Showroom: true,
  Website: true,
}

export const REFERRER_OPTIONS = Object.keys(REFERRERS).map((one): [string, string] => [one, one])

/** An erasure empties the name, which no other lead lacks. */
export const isErased = ({ name }: Pick<Lead, 'name'>): boolean => name === ''

export const nameOf = (lead: Pick<Lead, 'name' | 'reference'>): string =>
  lead.name || `Erased lead ${lead.reference.slice(0, 8)}`

const pounds = new Intl.NumberFormat('en-GB', { style: 'currency', currency: 'GBP' })
const wholePounds = new Intl.NumberFormat('en-GB', {
  style: 'currency',
  currency: 'GBP',
  maximumFractionDigits: 0,
})

export const money = (value: number): string => wholePounds.format(value)

export const moneyOfPence = (pence: number): string => pounds.format(pence / 100)

/** What leads are found by. A token that can't list users filters by a user's id. */
export const leadFilters = (users: User[] | undefined): Filter[] => [
  { name: 'q', label: 'Name, e-mail, phone or postcode' },
  { name: 'status', label: 'Status', options: Object.entries(STATUS_WORDS) },
  {
    name: 'assigned_to',
    label: users ? 'Assigned user' : 'Id of the assigned user',
    options: users?.map(({ id, name }) => [String(id), name]),
  },
  { name: 'postcode', label: 'Postcode, or its start', isRare: true },
  {
    name: 'referrer',
    label: 'Referrer',
    options: REFERRER_OPTIONS,
    isRare: true,
  },
  { name: 'attribute', label: 'Attribute, such as utm_source:newsletter', isRare: true },
  {
    name: 'test',
    label: 'Live or test',
    options: [
      ['false', 'Live leads only'],
      ['true', 'Test leads only'],
    ],
    isRare: true,
  },
  { name: 'created_from', label: 'Created from', isMoment: true, isRare: true },
  { name: 'created_to', label: 'Created before', isMoment: true, isRare: true },
  { name: 'updated_since', label: 'Updated since', isMoment: true, isRare: true },
]

/** The leads that the filters match, or those that follow the cursor; no count, which would be slow. */
export const listLeads = async (
  filters: URLSearchParams,
  signal?: AbortSignal,
): Promise<Schemas['LeadListItemPage']> => {
  // The API refuses unknown filters and values.
  const query: object = { cursor: '', ...Object.fromEntries(filters) }
  return dataOf(api().GET('/leads', { params: { query }, signal }))
}

const isRefused = (problem: Problem): false => {
  if (problem.status !== 403) throw problem
  return false
}

const mayChangeByToken = new Map<string | null, boolean>()

/** Whether the token may change leads. No read says so: an update that changes nothing does. */
export const mayChange = async (reference: string): Promise<boolean> => {
  const known = mayChangeByToken.get(token.value)
  if (known !== undefined) return known
  const may = await api()
    .PATCH('/leads/{reference}', { params: { path: { reference } }, body: {} })
    .then(() => true, isRefused)
  mayChangeByToken.set(token.value, may)
  return may
}

/** All leads that the filters match, as a file. */
export const exportLeads = (filters: Record<string, string>): Promise<Blob> => {
  const query: object = filters
  return dataOf(slowApi().GET('/manage/exports', { params: { query }, parseAs: 'blob' }))
}
