import type { AttachFileRequest, AttachFileResponse } from '@leadwire/contracts'
import { fileFields, isId, isText, validate } from '../arguments'
import { underKey } from '../idempotency/idempotency-keys'
import { lockLead } from '../leads/history/lock-lead'
import { recordChange } from '../outbox/record-change'
import { type RecordingDeps, type RecordingTransaction, recordingTransaction } from '../outbox/record-events'
import { ATTACHMENT_COLUMNS, type AttachmentRow, attachmentJson } from './attachment-row'

const INSERT = `
  INSERT INTO attachments AS t (account_id, lead_id, key, name, file_name, file_size, content_type)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  RETURNING ${ATTACHMENT_COLUMNS}`

const insertAttachment = async (tx: RecordingTransaction, request: AttachFileRequest): Promise<Buffer> => {
  const { accountId, baseUrl } = request
  validate({ account_id: isId(accountId), base_url: isText(baseUrl, 16_384), ...fileFields(request.file) })
  const { key, name, fileName, fileSize, contentType } = request.file!
  const lead = await lockLead(tx, request)
  const [row] = await tx.query<AttachmentRow>({
    name: 'attach-file',
    text: INSERT,
    values: [accountId, lead.id, key, name, fileName, fileSize, contentType],
  })
  const json = attachmentJson(row!, { baseUrl, reference: lead.reference })
  const data = `${json.slice(0, -1)},"lead_reference":"${lead.reference}"}`
  recordChange(tx, { accountId, lead, type: 'attachment.added', at: row!.created_at, data })
  return Buffer.from(`{"data":${json}}`)
}

/** Records a file that is stored as a lead's attachment (interface: Attach a file). Its url needs the bearer token. */
export const attachFile =
  (deps: RecordingDeps) =>
  (request: AttachFileRequest): Promise<AttachFileResponse> => {
    const { idempotency, claimId, reference } = request
    return recordingTransaction(deps, (tx) =>
      underKey(tx, idempotency, () => insertAttachment(tx, request), claimId, reference),
    )
  }
