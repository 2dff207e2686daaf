import type { View } from '@leadwire/contracts'
import {
  type Changes,
  differences,
  type OpenTransaction,
  recordAudit,
  ServiceError,
  statement,
  theRow,
} from '@leadwire/service-kit'
import { checkSearch } from '../leads/list/find-leads'
import type { Dependencies, Operation } from '../operation'

// Each operation that writes a view locks the user first. The lock keeps the number of views within its
// limit, and prevents new views of a removed user.

/** The maximum number of views of a user. */
const MAX_VIEWS = 50

/** SQL: the columns of a view. PostgreSQL orders the keys of `filters`, so equal filters are equal texts. */
const VIEW_COLUMNS = `id, name, filters::text AS filters, sort, created_at AS "createdAt", updated_at AS "updatedAt"`

interface ViewRow {
  id: number
  name: string
  filters: string
  sort: string | null
  createdAt: string
  updatedAt: string
}

type Key = { accountId: number; userId: number }

const readView = ({ id: _id, sort, ...view }: ViewRow): View => ({ ...view, sort: sort ?? undefined })

const select = statement<ViewRow>('list-views')`
  SELECT ${VIEW_COLUMNS} FROM views WHERE account_id = $1 AND user_id = $2
  ORDER BY account_id, user_id, name LIMIT ${MAX_VIEWS}`

const find = statement<ViewRow>('find-view')`
  SELECT ${VIEW_COLUMNS} FROM views WHERE account_id = $1 AND user_id = $2 AND name = $3`

const count = statement<{ count: number }>('count-views')`
  SELECT count(*)::int AS count FROM views WHERE account_id = $1 AND user_id = $2`

const lockUser = statement<{ id: number }>('lock-user-of-views')`
  SELECT id FROM users WHERE account_id = $1 AND id = $2 AND removed_at IS NULL FOR NO KEY UPDATE`

// A request with the stored filters changes nothing, so that a repeated request has no effect.
const upsert = statement<ViewRow>('save-view')`
  INSERT INTO views AS v (account_id, user_id, name, filters, sort)
  VALUES (:accountId, :userId, :name, :filters::jsonb, :sort)
  ON CONFLICT (account_id, user_id, name) DO UPDATE SET filters = excluded.filters, sort = excluded.sort,
    updated_at = CASE WHEN (v.filters, v.sort) IS NOT DISTINCT FROM (excluded.filters, excluded.sort)
      THEN v.updated_at ELSE clock_timestamp() END
  RETURNING ${VIEW_COLUMNS}`

const remove = statement<ViewRow>('delete-view')`
  DELETE FROM views WHERE account_id = $1 AND user_id = $2 AND name = $3
  RETURNING ${VIEW_COLUMNS}`

const removeAll = statement('delete-views-of-user')`
  DELETE FROM views WHERE account_id = $1 AND user_id = $2`

/** Deletes all views of a user. The caller has locked the user. */
export const deleteViews = (tx: OpenTransaction, { accountId, userId }: Key): void =>
  removeAll.send(tx, accountId, userId)

/** Returns the changed fields without their values, because a view may contain a search for a person. */
const listChanges = (before: ViewRow | undefined, after: ViewRow): Changes => {
  const shown = ({ name, filters, sort }: Partial<ViewRow> = {}) => ({ name, filters, sort })
  const changed = Object.keys(differences(shown(before), shown(after)))
  return Object.fromEntries(changed.map((field) => [field, { from: null, to: null }]))
}

/** Records a saved view in the audit log. Records nothing if the view stays the same. */
const recordView = (
  tx: OpenTransaction,
  actor: Dependencies['actor'],
  { accountId, before, after }: { accountId: number; before: ViewRow | undefined; after: ViewRow },
): void => {
  const changes = listChanges(before, after)
  if (Object.keys(changes).length === 0) return
  const action = before ? 'view.updated' : 'view.created'
  recordAudit(tx, actor, { accountId, action, targetId: after.id, changes })
}

/** Locks a user against other changes. Throws `not_found` if the user does not exist or was removed. */
const requireUser = async (tx: OpenTransaction, { accountId, userId }: Key): Promise<void> =>
  void theRow(await lockUser(tx, accountId, userId), 'user')

/** Throws `invalid` if the user has the maximum number of views. */
const requireRoomForView = async (tx: OpenTransaction, { accountId, userId }: Key): Promise<void> => {
  const [views] = await count(tx, accountId, userId)
  if (views!.count < MAX_VIEWS) return
  throw ServiceError.invalid({
    views: [`A user may not have more than ${MAX_VIEWS} views. Delete views that are no longer needed.`],
  })
}

export const listViews: Operation<'listViews'> = async ({ database }, { accountId, userId }) => ({
  views: (await select(database, accountId, userId)).map(readView),
})

/**
 * Creates a view of a user, or replaces the view with the same name. Throws `invalid` if the list of leads
 * would refuse the search, or if the user has the maximum number of views.
 */
export const saveView: Operation<'saveView'> = ({ database, actor }, request) =>
  database.transaction(async (tx) => {
    const { accountId, userId, name, filters, sort = null } = request
    checkSearch(JSON.parse(filters), 'filters.q')
    await requireUser(tx, request)
    const [before] = await find(tx, accountId, userId, name)
    if (!before) await requireRoomForView(tx, request)
    const [after] = await upsert(tx, { accountId, userId, name, filters, sort })
    recordView(tx, actor, { accountId, before, after: after! })
    return { view: readView(after!) }
  })

/** Deletes a view of a user, and returns it. Throws `not_found` if the user has no such view. */
export const deleteView: Operation<'deleteView'> = ({ database, actor }, request) =>
  database.transaction(async (tx) => {
    const { accountId, userId, name } = request
    await requireUser(tx, request)
    const deleted = theRow(await remove(tx, accountId, userId, name), 'view')
    recordAudit(tx, actor, { accountId, action: 'view.deleted', targetId: deleted.id })
    return { view: readView(deleted) }
  })
