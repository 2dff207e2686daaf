import { LEAD_STATUSES, type LeadFilters, postcodeBeginning, VISITOR_REFERRERS } from '@leadwire/contracts'
import { type Static, Type } from '@sinclair/typebox'
import { describe, id, instant, integer, oneOf, partial, text } from '../validation/fields'
import { inMicroseconds } from '../validation/formats'

/** The parameters of GET /leads beside the interface's `page`. */
export const LeadQuery = partial({
  per_page: integer('How many leads a page has, or a response with `cursor`. By default 20.', 50, {
    minimum: 1,
    maximum: 100,
  }),
  status: oneOf(LEAD_STATUSES, 'Only those with this status.', 'open'),
  referrer: oneOf(VISITOR_REFERRERS, 'Only those with this referrer.', 'Website'),
  postcode: text('Only those whose postcode starts with this.', 'SW1A', { maxLength: 10 }),
  created_from: instant('Only those created at this instant or later.'),
  created_to: instant('Only those created before this instant.'),
  updated_since: instant(
    'Only those created or changed at this instant or later; a list has the oldest change first.',
  ),
  assigned_to: id('Only those assigned to the user with this id.'),
  test: Type.Boolean(describe('Only test leads, or only the others.')),
  q: text(
    'Only those where each of these words starts a word of the names, the e-mail, a telephone number or the postcode. At most 8 words.',
    'ada',
    { maxLength: 100 },
  ),
  attribute: text(
    'Only those that have this attribute: its key, a colon and its value as it is shown.',
    'utm_source:newsletter',
    { maxLength: 1065, format: 'attribute-filter' },
  ),
  sort: oneOf(
    ['-created_at', 'created_at', '-updated_at', 'updated_at'],
    'The order; with a minus the newest first. By default `-created_at`, with `updated_since` `updated_at`.',
  ),
  cursor: text('Leave it empty for the first leads; pass `next_cursor` for those that follow.', undefined, {
    format: 'cursor',
  }),
})

export type LeadQuery = Static<typeof LeadQuery>

/** The filters, which an export has too. */
export const LeadFilterQuery = Type.Omit(LeadQuery, ['per_page', 'sort', 'cursor'])

const wordsOf = (name: string): string[] =>
  name
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
    .split(/[^a-z]+/)

// `page` is the interface's own parameter.
const WORDS = new Set(
  ['filter', ...Object.keys(LeadQuery.properties).flatMap(wordsOf)].filter((word) => word !== 'page'),
)
const SPELLINGS = new Set([
  'pagesize',
  'pagenumber',
  ...Object.keys(LeadQuery.properties).map((name) => wordsOf(name).join('')),
])

/**
 * Whether a query has one of these parameters, perhaps in another spelling: `Status`, `status[]`, `filter[status]`, `since`, `perPage`,
 * `page[size]`. Without one the list is the interface's, which ignores unknown parameters.
 */
export const asksMore = (query: Record<string, unknown>): boolean =>
  Object.keys(query).some((name) => {
    const words = wordsOf(name)
    return words.some((word) => WORDS.has(word)) || SPELLINGS.has(words.join(''))
  })

const instantOf = (given: string | undefined) => given && inMicroseconds(given)

export const leadFilters = (query: Static<typeof LeadFilterQuery>): LeadFilters => ({
  status: query.status,
  referrer: query.referrer,
  postcode: query.postcode && postcodeBeginning(query.postcode),
  createdFrom: instantOf(query.created_from),
  createdTo: instantOf(query.created_to),
  updatedSince: instantOf(query.updated_since),
  assignedTo: query.assigned_to,
  test: query.test,
  q: query.q,
  attribute: query.attribute,
})
