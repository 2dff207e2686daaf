import type { Logger } from '@leadwire/service-kit'
import { startAccountLoops } from '../../loops/start-account-loops'
import { countLeads, type FiguresDeps, findUncounted } from './count-leads'

/** Starts the loops that count the committed leads and changes of accounts. */
export const startFigures = ({ logger, ...deps }: FiguresDeps & { logger: Logger }) =>
  startAccountLoops({
    name: 'figures',
    logger,
    work: (accountId) => countLeads(deps, accountId),
    findBehind: (after) => findUncounted(deps.database, after),
    pauseFactor: 3,
    // Under load, one batch counts the changes of a second together.
    pauseMs: 1000,
  })
