import {
  type RetrieveAttachmentRequest,
  type RetrieveAttachmentResponse,
  StoredFile,
} from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { isId, isUuid, validate } from '../arguments'
import { rowMapper } from '../database/row-mapper'

const FILE = rowMapper(StoredFile, 't')

const SELECT = `
  SELECT ${FILE.columns}
  FROM leads l JOIN attachments t ON t.account_id = l.account_id AND t.lead_id = l.id
  WHERE l.reference = $2 AND l.account_id = $1 AND t.id = $3`

/** Where an attachment's bytes are and what they are. */
export const retrieveAttachment =
  (deps: { database: Database }) =>
  async (request: RetrieveAttachmentRequest): Promise<RetrieveAttachmentResponse> => {
    const { accountId, reference, attachmentId } = request
    validate({ account_id: isId(accountId), attachment_id: isId(attachmentId) })
    const values = [accountId, reference, attachmentId]
    const query = { name: 'retrieve-attachment', text: SELECT, values }
    const [file] = isUuid(reference) ? await FILE.query(deps.database, query) : []
    if (!file) throw new ServiceError('not_found', 'There is no such attachment.')
    return { file }
  }
