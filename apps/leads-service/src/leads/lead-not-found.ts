import { ServiceError } from '@leadwire/service-kit'

export const leadNotFound = () => new ServiceError('not_found', 'There is no lead with this reference.')
