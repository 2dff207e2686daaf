import { Image, imageJson } from '@leadwire/contracts'
import {
  answerUnderKey,
  differences,
  type OpenTransaction,
  recordAudit,
  requirePart,
  statement,
} from '@leadwire/service-kit'
import { type Row, recordMapper } from '../database/row-mapper'
import type { Operation } from '../operation'
import { requireRoom } from '../quotas/require-room'

const IMAGE = recordMapper(Image, 'm', { without: ['url'] })

export const IMAGE_COLUMNS = `${IMAGE.columns}, m.key`

/**
 * Reads an image from a row. The URL of the image consists of `assetsUrl`, `/` and the key, such as
 * images/UUID.png. `assetsUrl` has no trailing slash.
 */
export const readImage = (row: Row, assetsUrl: string): Image => ({
  ...IMAGE.read(row),
  url: `${assetsUrl}/${row['key']}`,
})

const insert = statement<Row>('create-image')`
  INSERT INTO images AS m (account_id, key, name, alt, file_name, file_size, content_type)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  RETURNING ${IMAGE_COLUMNS}`

/** Records a stored image, so that quote items may refer to it by its id. */
export const createImage: Operation<'createImage'> = async (dependencies, request) => {
  const { database, actor, assetsUrl, quotas } = dependencies
  const { accountId, file, alt, idempotency } = request
  const { key, name, fileName, fileSize, contentType } = requirePart(file, 'file')
  const insertImage = async (tx: OpenTransaction) => {
    await requireRoom(tx, accountId, 'images', quotas)
    const [row] = await insert(tx, accountId, key, name || null, alt ?? null, fileName, fileSize, contentType)
    const made = readImage(row!, assetsUrl)
    const changes = differences({}, { file_name: fileName, file_size: fileSize, content_type: contentType })
    recordAudit(tx, actor, { accountId, action: 'image.created', targetId: made.id, changes })
    return Buffer.from(`{"data":${imageJson(made)}}`)
  }
  return database.transaction((tx) => answerUnderKey(tx, idempotency, () => insertImage(tx)))
}
