import { isInvisible, oneLine, type View } from '@leadwire/contracts'
import { addErrors, listTextErrors } from '@leadwire/requests'
import { ServiceError } from '@leadwire/service-kit'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { type Call, operation } from '../api/operation'
import { described, listResponse, named, nullableScalar, recordResponse, timestamp } from '../api/schemas'
import { ManagedLeadQuery } from '../leads/lead-query'

/** Users who may list leads may also save views, because a view changes nothing for others. */
const SCOPE = ['leads:read', 'manage:read'] as const

const MAX_NAME = 100

const { per_page: _perPage, cursor: _cursor, sort, ...filters } = ManagedLeadQuery.properties

// An unknown filter would be refused by each list that uses the view.
const ViewFilters = Type.Object(filters, {
  title: 'ViewFilters',
  description: 'Filters of GET /manage/leads.',
  additionalProperties: false,
  examples: [{ status: 'open', user_id: 'none' }],
})

const withoutFormat = ({ format: _format, ...schema }: TSchema): TSchema => Type.Optional(Type.Unsafe(schema))

const SavedViewFilters = named(
  'SavedViewFilters',
  Object.fromEntries(Object.entries(filters).map(([name, schema]) => [name, withoutFormat(schema)])),
)

const SavedView = described(
  'SavedView',
  'A saved selection of leads. Belongs to the user who has signed in.',
  {
    name: Type.String({ examples: ['Open and unassigned'] }),
    filters: SavedViewFilters,
    sort: nullableScalar('string', 'The order of the list. null: the default order.', '-updated_at'),
    created_at: timestamp('When the view was created.'),
    updated_at: timestamp('When the filters or the order last changed.'),
  },
)

const ViewResponse = recordResponse(SavedView, 'The view.')

const ViewParams = Type.Object({
  name: Type.String({
    minLength: 1,
    maxLength: MAX_NAME,
    description: 'The name of the view. Upper and lower case differ.',
    examples: ['open-leads'],
  }),
})

const renderView = ({ name, filters: stored, sort: order, createdAt, updatedAt }: View) => ({
  name,
  filters: JSON.parse(stored) as Static<typeof ViewFilters>,
  sort: order ?? null,
  created_at: createdAt,
  updated_at: updatedAt,
})

/** Returns the user who has signed in. Throws `not_found` for a token, because only people have views. */
const requireOwner = ({ request: { principal }, accountId }: Call<unknown>) => {
  const { userId } = principal
  if (userId === undefined)
    throw new ServiceError(
      'not_found',
      'A token has no views. Only users who have signed in to the console have views.',
    )
  return { accountId, userId }
}

/** Lists the errors of the name in the path. */
const listNameErrors = (name: string) => {
  if (isInvisible(name)) return { name: ['The name field is required.'] }
  const isLong = [...name].length > MAX_NAME
  const errors = isLong ? { name: [`The name may not be greater than ${MAX_NAME} characters.`] } : {}
  return addErrors(errors, listTextErrors({ name }))
}

const readName = ({ params }: Call<unknown>['request']): string =>
  oneLine((params as { name: string }).name.trim())

export const listViews = operation({
  route: 'GET /manage/views',
  scope: SCOPE,
  summary: 'List own saved views',
  description:
    'Returns the views that the user who has signed in has saved, ordered by name, at most 50. A token has no views: the response is then 404.',
  answer: listResponse(SavedView, 'The views.'),
  problems: ['not-found'],
  handler: async (call) => {
    const { views } = await call.clients.accounts.listViews(requireOwner(call), call.limits)
    return views.map(renderView)
  },
})

export const saveView = operation({
  route: 'PUT /manage/views/:name',
  scope: SCOPE,
  summary: 'Save a view',
  description:
    'Saves filters of GET /manage/leads, and an order, under a name. Replaces the view with this name. Only the user who has signed in sees the view. A user has at most 50 views.',
  jsonOnly: true,
  params: ViewParams,
  body: named('SaveViewRequest', { filters: ViewFilters, sort }),
  answer: ViewResponse,
  handler: async (call) => {
    const owner = requireOwner(call)
    const name = readName(call.request)
    const checked = call.check()
    const errors = addErrors(listNameErrors(name), checked.errors ?? {})
    if (checked.errors || Object.keys(errors).length > 0) throw ServiceError.invalid(errors)
    const { filters: chosen, sort: order } = checked.value
    const asked = { ...owner, name, filters: JSON.stringify(chosen), sort: order }
    const { view } = await call.clients.accounts.saveView(asked, call.limits)
    return renderView(view!)
  },
})

export const deleteView = operation({
  route: 'DELETE /manage/views/:name',
  scope: SCOPE,
  summary: 'Delete a view',
  description: 'Deletes a view of the user who has signed in, and returns it.',
  params: ViewParams,
  answer: ViewResponse,
  handler: async (call) => {
    const owner = requireOwner(call)
    const name = readName(call.request)
    const errors = listNameErrors(name)
    if (Object.keys(errors).length > 0) throw new ServiceError('not_found', 'There is no such view.')
    const { view } = await call.clients.accounts.deleteView({ ...owner, name }, call.limits)
    return renderView(view!)
  },
})
