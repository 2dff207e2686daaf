import type { FilesServiceImplementation } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import type { ObjectStore } from '../store/object-store'
import { isObjectKey } from './object-key'

/** FilesService.Delete. A file that is not there is no failure; not_found is for what can't be a key at all. */
export const deleteFile =
  ({ store }: { store: ObjectStore }): FilesServiceImplementation['delete'] =>
  async ({ key }) => {
    if (!isObjectKey(key)) throw new ServiceError('not_found', 'There is no such file.')
    await store.delete(key)
    return {}
  }
