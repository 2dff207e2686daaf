import type { RetrieveAttachmentRequest, RetrieveAttachmentResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { demand, isId, isUuid } from '../arguments'

interface StoredRow {
  name: string
  file_name: string
  file_size: number
  content_type: string
  key: string
}

const SELECT = `
  SELECT t.name, t.file_name, t.file_size, t.content_type, t.key
  FROM leads l JOIN attachments t ON t.account_id = l.account_id AND t.lead_id = l.id
  WHERE l.reference = $2 AND l.account_id = $1 AND t.id = $3`

/** Where an attachment's bytes are and what they are. */
export const retrieveAttachment =
  (deps: { database: Database }) =>
  async ({
    accountId,
    reference,
    attachmentId,
  }: RetrieveAttachmentRequest): Promise<RetrieveAttachmentResponse> => {
    demand({ account_id: isId(accountId), attachment_id: isId(attachmentId) })
    const rows = isUuid(reference)
      ? await deps.database.query<StoredRow>({
          name: 'retrieve-attachment',
          text: SELECT,
          values: [accountId, reference, attachmentId],
        })
      : []
    const [row] = rows
    if (!row) throw new ServiceError('not_found', 'There is no such attachment.')
    return {
      file: {
        name: row.name,
        fileName: row.file_name,
        fileSize: row.file_size,
        contentType: row.content_type,
        key: row.key,
      },
    }
  }
