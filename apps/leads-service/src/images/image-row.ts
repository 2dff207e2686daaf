import type { Image } from '@leadwire/contracts'

/** An image's columns where they are joined to an item. */
export interface ImageRow {
  image_id: number
  key: string
  image_name: string | null
  file_name: string
  file_size: number
  content_type: string
  alt: string | null
  public: boolean
  processed: boolean
  image_created_at: string
  image_updated_at: string
}

export const IMAGE_COLUMNS = `m.id AS image_id, m.key, m.name AS image_name, m.file_name, m.file_size, m.content_type,
  m.alt, m.public, m.processed, m.created_at AS image_created_at, m.updated_at AS image_updated_at`

/** The message of a stored image. `assetsUrl` has no slash at its end; a key such as images/UUID.png comes after it. */
export const imageOfRow = (row: ImageRow, assetsUrl: string): Image => ({
  id: row.image_id,
  name: row.image_name ?? undefined,
  fileName: row.file_name,
  fileSize: row.file_size,
  contentType: row.content_type,
  alt: row.alt ?? undefined,
  public: row.public,
  processed: row.processed,
  createdAt: row.image_created_at,
  updatedAt: row.image_updated_at,
  url: `${assetsUrl}/${row.key}`,
})
