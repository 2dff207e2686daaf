import { leadFilters } from '../leads'
import type { Filter } from '../parts/filters'
import { formatInstant } from '../parts/format'
import type { User } from '../users'

export const DUE_LABELS = { overdue: 'Overdue', today: 'Today', week: 'Next 7 days' }

/** The value of the filter for the owner that selects unassigned leads. */
export const UNASSIGNED = 'none'

const ORDER: Filter = {
  name: 'sort',
  label: 'Order',
  none: 'Newest first',
  isRare: true,
  options: [
    ['created_at', 'Oldest first'],
    ['-updated_at', 'Most recently updated first'],
    ['updated_at', 'Least recently updated first'],
  ],
}

const createOwnerFilter = (users: User[] | undefined): Filter => ({
  name: 'user_id',
  label: users ? 'Owner' : 'ID of the owner, or none',
  options: users && [
    [UNASSIGNED, 'Unassigned'],
    ...users.map(({ id, name }): [string, string] => [String(id), name]),
  ],
})

const DUE: Filter = { name: 'due', label: 'Due', options: Object.entries(DUE_LABELS) }

/**
 * Returns the filters of the work queue, and its order. If the user cannot list the users, `users` is
 * undefined, and the owner is a text field for the user's ID.
 */
export const queueFilters = (users: User[] | undefined): Filter[] => {
  const [text, status, ...others] = leadFilters(users).filter(({ name }) => name !== 'assigned_to')
  const source = others.find(({ name }) => name === 'referrer')!
  return [
    text!,
    status!,
    createOwnerFilter(users),
    DUE,
    { ...source, isRare: false },
    ...others.filter((filter) => filter !== source),
    ORDER,
  ]
}

/** The names of the parameters that a saved view contains. */
export const VIEW_PARAMETERS = queueFilters(undefined).map(({ name }) => name)

const SHORT_LABELS: Record<string, string> = { q: 'Search', user_id: 'Owner' }

/** Describes the value of a filter, such as "Status: Open". */
export const describeFilter = ({ name, label, options, isMoment }: Filter, value: string): string => {
  const option = options?.find(([one]) => one === value)?.[1]
  const isInstant = isMoment && !Number.isNaN(Date.parse(value))
  const shown = isInstant ? formatInstant(value) : (option ?? value)
  return `${SHORT_LABELS[name] ?? label}: ${shown}`
}
