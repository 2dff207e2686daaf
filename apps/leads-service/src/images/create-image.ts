import { type Actor, type CreateImageRequest, type CreateImageResponse, imageJson } from '@leadwire/contracts'
import { type Database, differences, type OpenTransaction, recordAudit } from '@leadwire/service-kit'
import { fileFields, isId, isText, validate } from '../arguments'
import type { Row } from '../database/row-mapper'
import { underKey } from '../idempotency/idempotency-keys'
import { IMAGE_COLUMNS, imageOfRow } from './image-row'

const INSERT = `
  INSERT INTO images AS m (account_id, key, name, alt, file_name, file_size, content_type)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  RETURNING ${IMAGE_COLUMNS}`

/** Records a stored image that quote items may refer to by its id. */
export const createImage =
  (deps: { database: Database; actor?: Actor | undefined; assetsUrl: string }) =>
  async ({
    accountId,
    file,
    alt,
    idempotency,
    claimId,
  }: CreateImageRequest): Promise<CreateImageResponse> => {
    validate({ account_id: isId(accountId), alt: isText(alt ?? ''), ...fileFields(file) })
    const { key, name, fileName, fileSize, contentType } = file!
    const values = [accountId, key, name === '' ? null : name, alt ?? null, fileName, fileSize, contentType]
    const insertImage = async (tx: OpenTransaction) => {
      const [row] = await tx.query<Row>({ name: 'create-image', text: INSERT, values })
      const made = imageOfRow(row!, deps.assetsUrl)
      const changes = differences({}, { file_name: fileName, file_size: fileSize, content_type: contentType })
      recordAudit(tx, deps.actor, { accountId, action: 'image.created', targetId: made.id, changes })
      return Buffer.from(`{"data":${imageJson(made)}}`)
    }
    return deps.database.transaction((tx) => underKey(tx, idempotency, () => insertImage(tx), claimId))
  }
