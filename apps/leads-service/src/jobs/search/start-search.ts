import type { Logger } from '@leadwire/service-kit'
import { startAccountLoops } from '../../loops/start-account-loops'
import { findBehind, type IndexDeps, indexLeads } from './index-leads'

/**
 * Starts the loops that index the committed leads of accounts, and that report suspected duplicates. Also
 * indexes the accounts whose terms have an older format.
 */
export const startSearch = ({ logger, ...deps }: IndexDeps & { logger: Logger }) =>
  startAccountLoops({
    name: 'search',
    logger,
    work: (accountId) => indexLeads(deps, accountId, { skip: true }),
    findBehind: (after) => findBehind(deps.database, after),
    pauseFactor: 1,
    pauseMs: 250,
  })
