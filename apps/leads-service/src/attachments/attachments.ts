import {
  type AttachFileRequest,
  type Image,
  imageJson,
  isUuid,
  type ListAttachmentsRequest,
  StoredFile,
} from '@leadwire/contracts'
import { answerUnderKey, requirePart, statement, theRow } from '@leadwire/service-kit'
import { rowMapper } from '../database/row-mapper'
import { lockToAdd } from '../leads/history/lock-lead'
import { listRecords, selectRecords } from '../leads/read/lead-records'
import { requireUnerased } from '../leads/read/lead-rows'
import type { Operation } from '../operation'
import { recordChange } from '../outbox/record-change'
import { type RecordingTransaction, recordingTransaction } from '../outbox/record-events'

/** The public columns of an attachment. An attachment never changes, so `updated_at` is `created_at`. */
export const ATTACHMENT_COLUMNS = `t.id, t.name, t.file_name, t.file_size, t.content_type, NULL AS alt, 0 AS public,
  1 AS processed, t.created_at, t.created_at AS updated_at`

type AttachmentRow = Omit<Image, 'url'>

/**
 * Renders the public JSON of an attachment (the lead API, section Attach a file). Downloads from its `url`
 * need a bearer token.
 */
const attachmentJson = (row: AttachmentRow, baseUrl: string, reference: string): string =>
  imageJson({ ...row, url: `${baseUrl}/leads/${reference}/attachments/${row.id}` })

const insert = statement<AttachmentRow>('attach-file')`
  INSERT INTO attachments AS t (account_id, lead_id, key, name, file_name, file_size, content_type)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  RETURNING ${ATTACHMENT_COLUMNS}`

const insertAttachment = async (tx: RecordingTransaction, request: AttachFileRequest): Promise<Buffer> => {
  const { accountId, baseUrl } = request
  const { key, name, fileName, fileSize, contentType } = requirePart(request.file, 'file')
  const lead = await requireUnerased(tx, lockToAdd, request)
  const [row] = await insert(tx, accountId, lead.id, key, name, fileName, fileSize, contentType)
  const json = attachmentJson(row!, baseUrl, lead.reference)
  const data = `${json.slice(0, -1)},"lead_reference":"${lead.reference}"}`
  recordChange(tx, { accountId, lead, type: 'attachment.added', at: row!.created_at, data })
  return Buffer.from(`{"data":${json}}`)
}

/** Records a stored file as an attachment of a lead (the lead API, section Attach a file). */
export const attachFile: Operation<'attachFile'> = (deps, request) => {
  const { idempotency, reference } = request
  return recordingTransaction(deps, (tx) =>
    answerUnderKey(tx, idempotency, () => insertAttachment(tx, request), reference),
  )
}

export const listAttachments: Operation<'listAttachments'> = listRecords<
  AttachmentRow,
  ListAttachmentsRequest
>('attachments', selectRecords('attachments', ATTACHMENT_COLUMNS), (row, reference, { baseUrl }) =>
  attachmentJson(row, baseUrl, reference),
)

const selectFile = statement<StoredFile>('retrieve-attachment')`
  SELECT ${rowMapper(StoredFile, 't').columns}
  FROM leads l JOIN attachments t ON t.account_id = l.account_id AND t.lead_id = l.id
  WHERE l.reference = $2 AND l.account_id = $1 AND t.id = $3`

export const retrieveAttachment: Operation<'retrieveAttachment'> = async ({ database }, request) => {
  const { accountId, reference, attachmentId } = request
  const files = isUuid(reference) ? await selectFile(database, accountId, reference, attachmentId) : []
  return { file: theRow(files, 'attachment') }
}
