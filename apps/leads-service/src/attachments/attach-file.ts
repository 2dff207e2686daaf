import { type AttachFileRequest, type AttachFileResponse, imageJson } from '@leadwire/contracts'
import type { Database, Transaction } from '@leadwire/service-kit'
import { demand, fileFields, isId, isText, isUuid } from '../arguments'
import { underKey } from '../idempotency/idempotency-keys'
import { leadNotFound } from '../leads/lead-result'

interface AttachmentRow {
  id: number
  reference: string
  created_at: string
}

const INSERT = `
  INSERT INTO attachments (account_id, lead_id, key, name, file_name, file_size, content_type)
  SELECT account_id, id, $3, $4, $5, $6, $7 FROM leads WHERE reference = $2 AND account_id = $1
  RETURNING id, created_at, $2::uuid AS reference`

const insertAttachment = async (tx: Transaction, request: AttachFileRequest): Promise<Buffer> => {
  const { accountId, reference, baseUrl } = request
  demand({ account_id: isId(accountId), base_url: isText(baseUrl, 16_384), ...fileFields(request.file) })
  const { key, name, fileName, fileSize, contentType } = request.file!
  if (!isUuid(reference)) throw leadNotFound()
  const [row] = await tx.query<AttachmentRow>({
    name: 'attach-file',
    text: INSERT,
    values: [accountId, reference, key, name, fileName, fileSize, contentType],
  })
  if (!row) throw leadNotFound()
  const attachment = imageJson({
    id: row.id,
    name,
    fileName,
    fileSize,
    contentType,
    public: false,
    processed: true,
    createdAt: row.created_at,
    updatedAt: row.created_at,
    url: `${baseUrl}/leads/${row.reference}/attachments/${row.id}`,
  })
  return Buffer.from(`{"data":${attachment}}`)
}

/** Records a file that is stored as a lead's attachment (interface: Attach a file). Its url needs the bearer token. */
export const attachFile =
  (deps: { database: Database }) =>
  (request: AttachFileRequest): Promise<AttachFileResponse> =>
    deps.database.transaction((tx) =>
      underKey(tx, request.idempotency, () => insertAttachment(tx, request), request.claimId),
    )
