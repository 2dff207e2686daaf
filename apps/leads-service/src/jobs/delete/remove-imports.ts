import type { DeletionDeps } from './deletion-deps'

// With their errors, of which each has 10,000 at most.
const BATCH = 10

const FIND = `SELECT id, key FROM imports WHERE account_id = $1 ORDER BY id LIMIT ${BATCH}`

const DELETE = 'DELETE FROM imports WHERE account_id = $1 AND id = ANY ($2)'

/** Removes a batch of an account's imports, the files first. Resolves with whether there were any. */
export const removeImports = async (
  { database, deleteFiles }: DeletionDeps,
  accountId: number,
): Promise<boolean> => {
  const imports = await database.query<{ id: number; key: string | null }>({
    text: FIND,
    values: [accountId],
  })
  await deleteFiles(imports.flatMap(({ key }) => key ?? []))
  await database.query({ text: DELETE, values: [accountId, imports.map(({ id }) => id)] })
  return imports.length > 0
}
