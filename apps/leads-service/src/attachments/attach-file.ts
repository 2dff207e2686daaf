import type { AttachFileRequest, AttachFileResponse } from '@leadwire/contracts'
import type { Database, Transaction } from '@leadwire/service-kit'
import { demand, fileFields, isId, isText, isUuid } from '../arguments'
import { underKey } from '../idempotency/idempotency-keys'
import { leadNotFound } from '../leads/lead-result'
import { ATTACHMENT_COLUMNS, type AttachmentRow, attachmentJson } from './attachment-row'

const INSERT = `
  INSERT INTO attachments AS t (account_id, lead_id, key, name, file_name, file_size, content_type)
  SELECT account_id, id, $3, $4, $5, $6, $7 FROM leads WHERE reference = $2 AND account_id = $1
  RETURNING ${ATTACHMENT_COLUMNS}, $2::uuid AS reference`

const insertAttachment = async (tx: Transaction, request: AttachFileRequest): Promise<Buffer> => {
  const { accountId, reference, baseUrl } = request
  demand({ account_id: isId(accountId), base_url: isText(baseUrl, 16_384), ...fileFields(request.file) })
  const { key, name, fileName, fileSize, contentType } = request.file!
  if (!isUuid(reference)) throw leadNotFound()
  const [row] = await tx.query<AttachmentRow & { reference: string }>({
    name: 'attach-file',
    text: INSERT,
    values: [accountId, reference, key, name, fileName, fileSize, contentType],
  })
  if (!row) throw leadNotFound()
  return Buffer.from(`{"data":${attachmentJson(row, { baseUrl, reference: row.reference })}}`)
}

/** Records a file that is stored as a lead's attachment (interface: Attach a file). Its url needs the bearer token. */
export const attachFile =
  (deps: { database: Database }) =>
  (request: AttachFileRequest): Promise<AttachFileResponse> =>
    deps.database.transaction((tx) =>
      underKey(tx, request.idempotency, () => insertAttachment(tx, request), request.claimId),
    )
