import { api, readData, type Schemas, slowApi } from './api'
import type { Tone } from './parts/badge'
import type { Filter } from './parts/filters'
import type { User } from './users'

export type Lead = Schemas['Lead']
export type LeadListItem = Schemas['LeadListItem']
export type Status = Lead['status']

export const STATUS_LABELS: Record<Status, string> = {
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

const TONES: Partial<Record<Status, Tone>> = { sold: 'good', open: 'warn', appointment_scheduled: 'warn' }

export const chooseTone = (status: Status): Tone => TONES[status] ?? 'calm'

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

/** Returns whether a lead was erased. Only an erasure empties the name. */
export const isErased = ({ name }: Pick<Lead, 'name'>): boolean => name === ''

/** Returns the name of a lead, or a name for an erased lead. */
export const nameLead = (lead: Pick<Lead, 'name' | 'reference'>): string =>
  lead.name || `Erased lead ${lead.reference.slice(0, 8)}`

const pounds = new Intl.NumberFormat('en-GB', { style: 'currency', currency: 'GBP' })
const wholePounds = new Intl.NumberFormat('en-GB', {
  style: 'currency',
  currency: 'GBP',
  maximumFractionDigits: 0,
})

export const formatPounds = (value: number): string => wholePounds.format(value)

export const formatPence = (pence: number): string => pounds.format(pence / 100)

/**
 * Returns the filters of leads. If the user cannot list the users, `users` is undefined, and the filter for
 * the owner is a text field for the user's ID.
 */
export const leadFilters = (users: User[] | undefined): Filter[] => [
  { name: 'q', label: 'Name, e-mail, phone or postcode' },
  { name: 'status', label: 'Status', options: Object.entries(STATUS_LABELS) },
  {
    name: 'assigned_to',
    label: users ? 'Owner' : 'ID of the owner',
    options: users?.map(({ id, name }) => [String(id), name]),
  },
  { name: 'postcode', label: 'Postcode, or its start', isRare: true },
  {
    name: 'referrer',
    label: 'Source',
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

/**
 * Lists the leads that match the filters, from the cursor on. Always sends a cursor, because the API would
 * otherwise also count the leads, which is slow.
 */
export const listLeads = async (
  filters: URLSearchParams,
  signal?: AbortSignal,
): Promise<Schemas['LeadListItemPage']> => {
  // The type is `object`, because the filters come from the page's URL. The API rejects unknown filters and
  // values.
  const query: object = { cursor: '', ...Object.fromEntries(filters) }
  return readData(api().GET('/leads', { params: { query }, signal }))
}

/** Exports all leads that match the filters as a file. */
export const exportLeads = (filters: Record<string, string>): Promise<Blob> => {
  const query: object = filters
  return readData(slowApi().GET('/manage/exports', { params: { query }, parseAs: 'blob' }))
}
