-- What a real export has beside MPI's tables: a name of each rank's thread and the
-- domain of its process, which mkrep writes as a report needs them.
CREATE TABLE IF NOT EXISTS MPI_RANKS (globalTid INTEGER, rank INTEGER);
CREATE TABLE IF NOT EXISTS MPI_P2P_EVENTS (globalTid INTEGER);
CREATE TABLE IF NOT EXISTS MPI_COLLECTIVES_EVENTS (globalTid INTEGER);
CREATE TABLE IF NOT EXISTS MPI_START_WAIT_EVENTS (globalTid INTEGER);
CREATE TABLE IF NOT EXISTS MPI_OTHER_EVENTS (globalTid INTEGER);
CREATE TABLE IF NOT EXISTS NVTX_EVENTS (
  start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, text TEXT,
  globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid)
SELECT 0, 39, 'MPI Rank ' || rank, globalTid FROM MPI_RANKS;
INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid, domainId)
SELECT 0, 75, 'MPI', globalTid & ~0xffffff, 19792 FROM (
  SELECT globalTid FROM MPI_P2P_EVENTS
  UNION SELECT globalTid FROM MPI_COLLECTIVES_EVENTS
  UNION SELECT globalTid FROM MPI_START_WAIT_EVENTS
  UNION SELECT globalTid FROM MPI_OTHER_EVENTS)
GROUP BY globalTid & ~0xffffff;
