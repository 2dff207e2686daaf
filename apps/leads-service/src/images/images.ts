import { Image, imageJson } from '@leadwire/contracts'
import { differences, type OpenTransaction, recordAudit, statement } from '@leadwire/service-kit'
import { fileFields, isId, isText, validate } from '../arguments'
import { type Row, recordMapper } from '../database/row-mapper'
import { underKey } from '../idempotency/idempotency-keys'
import type { Operation } from '../operation'

const IMAGE = recordMapper(Image, 'm', { without: ['url'] })

export const IMAGE_COLUMNS = `${IMAGE.columns}, m.key`

/** The message of a stored image. `assetsUrl` has no slash at its end; a key such as images/UUID.png comes after it. */
export const imageOfRow = (row: Row, assetsUrl: string): Image => ({
  ...IMAGE.read(row),
  url: `${assetsUrl}/${row['key']}`,
})

const insert = statement<Row>('create-image')`
  INSERT INTO images AS m (account_id, key, name, alt, file_name, file_size, content_type)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  RETURNING ${IMAGE_COLUMNS}`

/** Records a stored image that quote items may refer to by its id. */
export const createImage: Operation<'createImage'> = async ({ database, actor, assetsUrl }, request) => {
  const { accountId, file, alt, idempotency, claimId } = request
  validate({ account_id: isId(accountId), alt: isText(alt ?? ''), ...fileFields(file) })
  const { key, name, fileName, fileSize, contentType } = file!
  const insertImage = async (tx: OpenTransaction) => {
    const [row] = await insert(tx, accountId, key, name || null, alt ?? null, fileName, fileSize, contentType)
    const made = imageOfRow(row!, assetsUrl)
    const changes = differences({}, { file_name: fileName, file_size: fileSize, content_type: contentType })
    recordAudit(tx, actor, { accountId, action: 'image.created', targetId: made.id, changes })
    return Buffer.from(`{"data":${imageJson(made)}}`)
  }
  return database.transaction((tx) => underKey(tx, idempotency, () => insertImage(tx), claimId))
}
