import { formatPounds, STATUS_LABELS } from '../leads'
import type { User } from '../users'
import type { ManagedLead } from './load-lead'

/** Returns the name of the assigned user, or a text for an unassigned lead. */
export const nameOwner = ({ user }: Pick<ManagedLead, 'user'>): string => user?.name ?? 'Unassigned'

/** Returns the present name of a user, or the number of a user who was removed. */
export const nameUser = (users: User[] | undefined, id: number): string =>
  users?.find((user) => user.id === id)?.name ?? `User ${id}`

const joinAddress = ({ customer }: ManagedLead): string =>
  [customer.address_1, customer.address_2, customer.city, customer.county].filter(Boolean).join(', ')

export const describeAttributes = ({ attributes }: Pick<ManagedLead, 'attributes'>): string =>
  Object.entries(attributes)
    .map(([key, value]) => `${key}: ${value}`)
    .join(', ')

const COMPARED: [label: string, read: (lead: ManagedLead) => string | null][] = [
  ['Customer', ({ customer }) => customer.name],
  ['Company', ({ customer }) => customer.company_name],
  ['Job', ({ name }) => name],
  ['Telephone', ({ customer }) => customer.phone],
  ['Mobile', ({ customer }) => customer.mobile],
  ['E-mail', ({ customer }) => customer.email],
  ['Address', joinAddress],
  ['Postcode', ({ postcode }) => postcode],
  ['Status', ({ status }) => STATUS_LABELS[status]],
  ['Value', ({ value }) => formatPounds(value)],
  ['Owner', nameOwner],
  ['Description', ({ description }) => description],
  ['Referrer', ({ referrer }) => referrer],
  ['Referring page', ({ referrer_url }) => referrer_url],
  ['Duplicate of', ({ duplicate_of }) => duplicate_of],
  ['External ID', ({ external_id }) => external_id],
  ['Attributes', describeAttributes],
]

export interface Difference {
  label: string
  from: string
  to: string
}

/** Returns the values that differ between two states of a lead. */
export const listDifferences = (before: ManagedLead, after: ManagedLead): Difference[] =>
  COMPARED.map(([label, read]) => ({
    label,
    from: read(before) || 'none',
    to: read(after) || 'none',
  })).filter(({ from, to }) => from !== to)
