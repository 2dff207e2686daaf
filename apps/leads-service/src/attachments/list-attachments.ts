import type { ListAttachmentsRequest, ListAttachmentsResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isText, validate } from '../arguments'
import { listRecords } from '../leads/read/lead-records'
import { ATTACHMENT_COLUMNS, type AttachmentRow, attachmentJson } from './attachment-row'

/** A lead's attachments, newest first. */
export const listAttachments =
  (deps: { database: Database }) =>
  async ({ baseUrl, ...asked }: ListAttachmentsRequest): Promise<ListAttachmentsResponse> => {
    validate({ base_url: isText(baseUrl, 16_384) })
    const jsonOf = (row: AttachmentRow, reference: string) => attachmentJson(row, { baseUrl, reference })
    return listRecords(deps.database, { table: 'attachments', columns: ATTACHMENT_COLUMNS, jsonOf }, asked)
  }
