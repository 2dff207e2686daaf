import {
  type AttachFileRequest,
  type Image,
  imageJson,
  type ListAttachmentsRequest,
  StoredFile,
} from '@leadwire/contracts'
import { statement, theRow } from '@leadwire/service-kit'
import { fileFields, isId, isText, isUuid, validate } from '../arguments'
import { rowMapper } from '../database/row-mapper'
import { underKey } from '../idempotency/idempotency-keys'
import { lockToAdd } from '../leads/history/lock-lead'
import { listRecords, selectRecords } from '../leads/read/lead-records'
import { requireUnerased } from '../leads/read/lead-rows'
import type { Operation } from '../operation'
import { recordChange } from '../outbox/record-change'
import { type RecordingTransaction, recordingTransaction } from '../outbox/record-events'

/** The fields that an attachment shows. It never changes: it was updated when it was created. */
export const ATTACHMENT_COLUMNS = `t.id, t.name, t.file_name, t.file_size, t.content_type, NULL AS alt, 0 AS public,
  1 AS processed, t.created_at, t.created_at AS updated_at`

type AttachmentRow = Omit<Image, 'url'>

/** The public JSON of an attachment (interface: Attach a file). Its url needs the bearer token. */
const attachmentJson = (row: AttachmentRow, baseUrl: string, reference: string): string =>
  imageJson({ ...row, url: `${baseUrl}/leads/${reference}/attachments/${row.id}` })

const insert = statement<AttachmentRow>('attach-file')`
  INSERT INTO attachments AS t (account_id, lead_id, key, name, file_name, file_size, content_type)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  RETURNING ${ATTACHMENT_COLUMNS}`

const insertAttachment = async (tx: RecordingTransaction, request: AttachFileRequest): Promise<Buffer> => {
  const { accountId, baseUrl } = request
  validate({ account_id: isId(accountId), base_url: isText(baseUrl, 16_384), ...fileFields(request.file) })
  const { key, name, fileName, fileSize, contentType } = request.file!
  const lead = await requireUnerased(tx, lockToAdd, request)
  const [row] = await insert(tx, accountId, lead.id, key, name, fileName, fileSize, contentType)
  const json = attachmentJson(row!, baseUrl, lead.reference)
  const data = `${json.slice(0, -1)},"lead_reference":"${lead.reference}"}`
  recordChange(tx, { accountId, lead, type: 'attachment.added', at: row!.created_at, data })
  return Buffer.from(`{"data":${json}}`)
}

/** Records a file that is stored as a lead's attachment (interface: Attach a file). */
export const attachFile: Operation<'attachFile'> = (deps, request) => {
  const { idempotency, claimId, reference } = request
  return recordingTransaction(deps, (tx) =>
    underKey(tx, idempotency, () => insertAttachment(tx, request), claimId, reference),
  )
}

const list = listRecords<AttachmentRow, ListAttachmentsRequest>(
  'attachments',
  selectRecords('attachments', ATTACHMENT_COLUMNS),
  (row, reference, { baseUrl }) => attachmentJson(row, baseUrl, reference),
)

export const listAttachments: Operation<'listAttachments'> = async (deps, request) => {
  validate({ base_url: isText(request.baseUrl, 16_384) })
  return list(deps, request)
}

const selectFile = statement<StoredFile>('retrieve-attachment')`
  SELECT ${rowMapper(StoredFile, 't').columns}
  FROM leads l JOIN attachments t ON t.account_id = l.account_id AND t.lead_id = l.id
  WHERE l.reference = $2 AND l.account_id = $1 AND t.id = $3`

export const retrieveAttachment: Operation<'retrieveAttachment'> = async ({ database }, request) => {
  const { accountId, reference, attachmentId } = request
  validate({ account_id: isId(accountId), attachment_id: isId(attachmentId) })
  const files = isUuid(reference) ? await selectFile(database, accountId, reference, attachmentId) : []
  return { file: theRow(files, 'attachment') }
}
