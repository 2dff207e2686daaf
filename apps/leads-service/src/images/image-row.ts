import { Image } from '@leadwire/contracts'
import { type Row, recordMapper } from '../database/row-mapper'

const IMAGE = recordMapper(Image, 'm', { without: ['url'] })

export const IMAGE_COLUMNS = `${IMAGE.columns}, m.key`

/** The message of a stored image. `assetsUrl` has no slash at its end; a key such as images/UUID.png comes after it. */
export const imageOfRow = (row: Row, assetsUrl: string): Image => ({
  ...IMAGE.read(row),
  url: `${assetsUrl}/${row['key']}`,
})
