import { type CreateImageRequest, type CreateImageResponse, imageJson } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { demand, fileFields, isId, isText } from '../arguments'
import type { Row } from '../row-mapper'
import { IMAGE_COLUMNS, imageOfRow } from './image-row'

const INSERT = `
  INSERT INTO images AS m (account_id, key, name, alt, file_name, file_size, content_type)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  RETURNING ${IMAGE_COLUMNS}`

/** Records a stored image that quote items may refer to by its id. */
export const createImage =
  (deps: { database: Database; assetsUrl: string }) =>
  async ({ accountId, file, alt }: CreateImageRequest): Promise<CreateImageResponse> => {
    demand({ account_id: isId(accountId), alt: isText(alt ?? ''), ...fileFields(file) })
    const { key, name, fileName, fileSize, contentType } = file!
    const [row] = await deps.database.query<Row>({
      name: 'create-image',
      text: INSERT,
      values: [accountId, key, name === '' ? null : name, alt ?? null, fileName, fileSize, contentType],
    })
    return { body: Buffer.from(`{"data":${imageJson(imageOfRow(row!, deps.assetsUrl))}}`) }
  }
