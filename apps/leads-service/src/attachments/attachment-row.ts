import { imageJson } from '@leadwire/contracts'

/** An attachment, as its columns. */
export interface AttachmentRow {
  id: number
  name: string
  file_name: string
  file_size: number
  content_type: string
  created_at: string
}

export const ATTACHMENT_COLUMNS = 't.id, t.name, t.file_name, t.file_size, t.content_type, t.created_at'

/** The public JSON of an attachment (interface: Attach a file). An attachment never changes: it was updated when it was created. */
export const attachmentJson = (
  row: AttachmentRow,
  { baseUrl, reference }: { baseUrl: string; reference: string },
): string =>
  imageJson({
    id: row.id,
    name: row.name,
    file_name: row.file_name,
    file_size: row.file_size,
    content_type: row.content_type,
    alt: null,
    public: 0,
    processed: 1,
    created_at: row.created_at,
    updated_at: row.created_at,
    url: `${baseUrl}/leads/${reference}/attachments/${row.id}`,
  })
