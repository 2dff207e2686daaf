import type { Figures } from '@leadwire/contracts'
import { addDays, countDays, date, enumeration, findToday, partial } from '@leadwire/requests'
import { ServiceError } from '@leadwire/service-kit'
import { type Static, Type } from '@sinclair/typebox'
import { findUserNames, type UserNames } from '../api/find-user-names'
import { operation } from '../api/operation'
import { described, named, orNull, UserName } from '../api/schemas'

const MAX_DAYS = 366
const DEFAULT_DAYS = 30

const GROUPS = ['day', 'referrer', 'status', 'user'] as const
const PAIRS = GROUPS.flatMap((first) =>
  GROUPS.filter((second) => second !== first).map((second) => `${first},${second}`),
)

const FiguresQuery = partial({
  from: date('The first day. Default 29 days before `to`.', '2026-11-01'),
  to: date('The last day. Default today.', '2026-11-30'),
  group_by: enumeration(
    [...GROUPS, ...PAIRS],
    'One or two groups, separated by a comma. Default `day`.',
    'day',
  ),
})

const count = (description: string, example: number) => Type.Integer({ description, examples: [example] })

const seconds = (description: string, example: number) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], description, examples: [example] })

const FiguresRecord = described(
  'Figures',
  'The figures of a group. Only the fields that `group_by` names are present among `day`, `referrer`, `status` and `user`.',
  {
    day: Type.Optional(Type.String({ format: 'date', examples: ['2026-11-21'] })),
    referrer: Type.Optional(Type.String({ examples: ['Website'] })),
    status: Type.Optional(Type.String({ examples: ['sold'] })),
    user: Type.Optional(
      orNull(UserName, 'The user whom the leads are assigned to. null for unassigned leads.'),
    ),
    created: count('Leads that were created.', 42),
    appointments: count('Appointments that were booked, including those that were cancelled later.', 12),
    sold: count('Leads that were sold, and still have the status `sold`.', 5),
    lost: count('Leads that were created, and now have the status `lost`.', 3),
    value_sold: count('The sum of `value` of the sold leads.', 1250000),
    response_median_seconds: seconds(
      'The median of the time from the creation of a lead to the first response. null without any response.',
      900,
    ),
    response_p90_seconds: seconds(
      'Nine of ten responses came within this time. null without any response.',
      7200,
    ),
  },
)

const FiguresResponse = named('FiguresList', {
  data: Type.Array(FiguresRecord),
  is_current: Type.Boolean({
    description:
      'Whether all leads and changes are counted. false for about a second after a change, and longer after a change without an event, an import or a rebuild.',
    examples: [true],
  }),
})

/** Returns the period of a request. Throws `invalid` if it is empty or too long. */
const findPeriod = (given: Static<typeof FiguresQuery>, timeZone: string) => {
  const to = given.to ?? findToday(timeZone)
  const from = given.from ?? addDays(to, 1 - DEFAULT_DAYS)
  const days = countDays(from, to)
  if (days < 1) throw ServiceError.invalid({ to: [`The to must not be before the from. It is ${to}.`] })
  if (days > MAX_DAYS)
    throw ServiceError.invalid({ from: [`The period may not be longer than ${MAX_DAYS} days.`] })
  return { from, to }
}

const renderUser = (userId: number, names: UserNames) =>
  userId === 0 ? null : { id: userId, name: names[userId] ?? '' }

const renderFigures = (figures: Figures, names: UserNames) => ({
  day: figures.day,
  referrer: figures.referrer,
  status: figures.status,
  user: figures.userId === undefined ? undefined : renderUser(figures.userId, names),
  created: figures.created,
  appointments: figures.appointments,
  sold: figures.sold,
  lost: figures.lost,
  value_sold: figures.valueSold,
  response_median_seconds: figures.responseMedianSeconds ?? null,
  response_p90_seconds: figures.responseP90Seconds ?? null,
})

export const retrieveFigures = operation({
  route: 'GET /manage/figures',
  scope: ['leads:read', 'manage:read'],
  summary: 'Retrieve figures',
  description: `Returns counts of leads, appointments and sales, the value sold, and the time to the first response, for each group in a period of at most ${MAX_DAYS} days. Groups without figures are left out. Each lead counts with its present referrer, status and user. Test leads do not count. Days are days in the time zone of the service (\`TIME_ZONE\`). Counts are exact. The times are correct to 2.5 %, and rounded to seconds.`,
  query: FiguresQuery,
  answer: { description: 'The figures of the groups, in the order of the groups.', schema: FiguresResponse },
  handler: async ({ valid, dependencies, accountId, clients, limits }) => {
    const query = await valid()
    const { from, to } = findPeriod(query, dependencies.timeZone)
    const asked = { accountId, from, to, groupBy: (query.group_by ?? 'day').split(',') }
    const { figures, isCurrent } = await clients.figures.retrieveFigures(asked, limits)
    const userIds = figures.map(({ userId }) => userId).filter((id) => id !== 0)
    const names = await findUserNames({ accountId, clients, limits }, userIds)
    const data = figures.map((group) => renderFigures(group, names))
    return JSON.stringify({ data, is_current: isCurrent })
  },
})
