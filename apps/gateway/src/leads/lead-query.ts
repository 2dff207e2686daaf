import { LEAD_STATUSES, type LeadFilters, postcodeBeginning, VISITOR_REFERRERS } from '@leadwire/contracts'
import {
  describe,
  enumeration,
  findDays,
  id,
  instant,
  integer,
  partial,
  text,
  truncateInstant,
} from '@leadwire/requests'
import { type Static, Type } from '@sinclair/typebox'

/** The parameters of GET /leads. The lead API defines only `page`. All parameters here are extensions. */
export const LeadQuery = partial({
  per_page: integer('Maximum number of leads in a page, or in a response with `cursor`. Default 20.', 50, {
    minimum: 1,
    maximum: 100,
  }),
  status: enumeration(LEAD_STATUSES, 'Only leads with this status.', 'open'),
  referrer: enumeration(VISITOR_REFERRERS, 'Only leads with this referrer.', 'Website'),
  postcode: text('Only leads whose postcode starts with this text.', 'SW1A', { maxLength: 10 }),
  created_from: instant('Only leads created at or after this time. ISO 8601 with an offset.'),
  created_to: instant('Only leads created before this time. ISO 8601 with an offset.'),
  updated_since: instant(
    'Only leads created or updated at or after this time. ISO 8601 with an offset. In a list of leads, also changes the default of `sort` to `updated_at`.',
  ),
  assigned_to: id('Only leads assigned to the user with this ID.'),
  test: Type.Boolean(describe('true: only test leads. false: only live leads.')),
  q: text(
    'Only leads that match all of these search terms, at most 8. A term matches the start of a word in the names, email address, telephone numbers, postcode or newest notes, or the last digits (at least four) of a telephone number.',
    'ada',
    { maxLength: 100 },
  ),
  attribute: text(
    'Only leads with this attribute: the key, a colon, and the value as shown in responses.',
    'utm_source:newsletter',
    { maxLength: 1065, format: 'attribute-filter' },
  ),
  sort: enumeration(
    ['-created_at', 'created_at', '-updated_at', 'updated_at'],
    'Sort order. A minus sign means newest first. Default `-created_at`, but `updated_at` if the query has `updated_since`.',
  ),
  cursor: text(
    'Selects reading by cursor instead of by page. Send an empty `cursor` to get the first leads, and then each `next_cursor` to get the next leads.',
    undefined,
    { format: 'cursor' },
  ),
})

export type LeadQuery = Static<typeof LeadQuery>

/** The filters of GET /leads, which GET /manage/exports also accepts. */
export const LeadFilterQuery = Type.Omit(LeadQuery, ['per_page', 'sort', 'cursor'])

const splitWords = (name: string): string[] =>
  name
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
    .split(/[^a-z]+/)

// Excludes `page`, because `page` belongs to the lead API and is no extension.
const WORDS = new Set(
  ['filter', ...Object.keys(LeadQuery.properties).flatMap(splitWords)].filter((word) => word !== 'page'),
)
const SPELLINGS = new Set([
  'pagesize',
  'pagenumber',
  ...Object.keys(LeadQuery.properties).map((name) => splitWords(name).join('')),
])

/**
 * Returns whether a query has a parameter of `LeadQuery`, perhaps in another spelling: `Status`, `status[]`,
 * `filter[status]`, `since`, `perPage`, `page[size]`. Without such a parameter, the list behaves as the lead
 * API says, and ignores unknown parameters.
 */
export const asksMore = (query: Record<string, unknown>): boolean =>
  Object.keys(query).some((name) => {
    const words = splitWords(name)
    return words.some((word) => WORDS.has(word)) || SPELLINGS.has(words.join(''))
  })

const { assigned_to: _assigned_to, ...SHARED } = LeadQuery.properties

/** The parameters of GET /manage/leads, except `page`. `user_id` replaces `assigned_to`. */
export const ManagedLeadQuery = partial({
  ...SHARED,
  user_id: text(
    'Only leads assigned to the user with this ID, or `none`: only unassigned leads.',
    undefined,
    { format: 'user-filter' },
  ),
  due: enumeration(
    ['overdue', 'today', 'week'],
    'Only leads with an appointment or a callback that is neither cancelled nor done, and whose date has passed (`overdue`), is today (`today`), or is in the seven days that begin with today (`week`). Days begin at midnight in the time zone of the operator.',
  ),
})

export type ManagedLeadQuery = Static<typeof ManagedLeadQuery>

const truncateIfGiven = (given: string | undefined) => given && truncateInstant(given)

export const leadFilters = (query: Static<typeof LeadFilterQuery>): LeadFilters => ({
  status: query.status,
  referrer: query.referrer,
  postcode: query.postcode && postcodeBeginning(query.postcode),
  createdFrom: truncateIfGiven(query.created_from),
  createdTo: truncateIfGiven(query.created_to),
  updatedSince: truncateIfGiven(query.updated_since),
  assignedTo: query.assigned_to,
  test: query.test,
  q: query.q,
  attribute: query.attribute,
})

const readUserFilter = (userId: string | undefined): LeadFilters => {
  if (userId === undefined) return {}
  return userId === 'none' ? { unassigned: true } : { assignedTo: Number(userId) }
}

const readDueFilter = (due: ManagedLeadQuery['due'], timeZone: string): LeadFilters => {
  if (due === undefined) return {}
  if (due === 'overdue') return { dueTo: new Date().toISOString() }
  const { start, end } = findDays(due === 'today' ? 1 : 7, timeZone)
  return { dueFrom: start, dueTo: end }
}

/** Returns the filters of GET /manage/leads. `timeZone` is the time zone of days. */
export const managedLeadFilters = (query: ManagedLeadQuery, timeZone: string): LeadFilters => ({
  ...leadFilters(query),
  ...readUserFilter(query.user_id),
  ...readDueFilter(query.due, timeZone),
})
