import type { ErasureJob, PlaceDeps } from './erasure-job'

const BATCH = 50

const SELECT = `
  SELECT id, key FROM attachments WHERE account_id = $1 AND lead_id = $2 ORDER BY id LIMIT ${BATCH}`

const DELETE = 'DELETE FROM attachments WHERE account_id = $1 AND id = ANY ($2)'

/** Deletes the bytes of a lead's attachments, and then their records, which say where the bytes are. */
export const eraseFiles = async (
  { accountId, leadId, places }: ErasureJob,
  { database, deleteFiles }: PlaceDeps,
): Promise<number[]> => {
  while (true) {
    const files = await database.query<{ id: number; key: string }>({
      text: SELECT,
      values: [accountId, leadId],
    })
    await deleteFiles(files.map(({ key }) => key))
    await database.query({ text: DELETE, values: [accountId, files.map(({ id }) => id)] })
    if (files.length < BATCH) break
  }
  return [places.find(({ what }) => what === 'attachments')?.count ?? 0]
}
