package core.game;

import core.competition.CompetitionParameters;
import core.logging.Logger;
import core.player.Player;
import core.vgdl.VGDLFactory;
import core.vgdl.VGDLParser;
import core.vgdl.VGDLRegistry;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.List;
import java.util.Random;
import ontology.Types;
import tools.ElapsedCpuTimer;
import video.basics.Interaction;
import video.handlers.StoreInteraction;

/**
 * Times GVGAI's own cycle, without drawing, on one level that is played at random.
 *
 * <p>{@code benchmarks/original.py} compiles this file with the sources of GVGAI, into the package whose members it
 * uses, and starts it with the files of a game and a level. For each line {@code cycle TICKS SEED} on its standard
 * input it plays so many ticks, in as many plays as that takes, and prints the nanoseconds of CPU time of the thread
 * that played them; for {@code json TICKS SEED}, with the serialised observation in every tick.
 */
final class TimedPlays extends Player {
    private static final MethodHandle PREPARE;
    private static final MethodHandle CYCLE;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(Game.class, MethodHandles.lookup());
            PREPARE = lookup.unreflect(
                    Game.class.getDeclaredMethod("prepareGame", Player[].class, int.class, int.class));
            CYCLE = lookup.unreflect(Game.class.getDeclaredMethod("gameCycle"));
        } catch (ReflectiveOperationException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    private final String game;
    private final String level;
    private final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    private Random dice;
    private boolean serialise;

    private TimedPlays(String game, String level) {
        this.game = game;
        this.level = level;
    }

    public static void main(String[] words) throws Throwable {
        PrintStream answers = System.out;
        System.setOut(new PrintStream(OutputStream.nullOutputStream())); // the engine's own prints are no answers
        CompetitionParameters.IS_LEARNING = true; // cells of ten pixels, as in the learning track
        TimedPlays player = new TimedPlays(words[0], words[1]);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            String[] request = line.split(" ");
            player.serialise = request[0].equals("json");
            answers.println(player.time(Integer.parseInt(request[1]), Integer.parseInt(request[2])));
            answers.flush();
        }
    }

    /** Plays ticks, and returns the CPU nanoseconds that they took: without reading and building the level. */
    private long time(int ticks, int seed) throws Throwable {
        dice = new Random(seed);
        long spent = 0;
        for (int done = 0; done < ticks; ) {
            Game play = begin();
            long began = clock.getCurrentThreadCpuTime();
            for (; done < ticks && !play.isEnded; done++) {
                CYCLE.invokeExact(play);
                play.firstTimeEvents.clear(); // this list and the next grow for videos alone, and are read every tick
                play.spriteCopies.clear();
            }
            spent += clock.getCurrentThreadCpuTime() - began;
        }
        return spent;
    }

    private Game begin() throws Throwable {
        Logger.getInstance().flushMessages(); // those of all plays together would end a play: see MAX_ALLOWED_WARNINGS
        VGDLRegistry.GetInstance().init();
        VGDLFactory.GetInstance().init();
        Game play = new VGDLParser().parseGame(game);
        play.storeInteraction = new StoreInteraction() { // another list for videos
            @Override
            public void storeAllInteraction(Interaction interaction) {}
        };
        play.buildLevel(level, dice.nextInt());
        PREPARE.invokeExact(play, new Player[] {this}, dice.nextInt(), -1);
        return play;
    }

    @Override
    public Types.ACTIONS act(StateObservation state, ElapsedCpuTimer timer) {
        if (serialise) {
            state.currentGameState = Types.GAMESTATES.ACT_STATE;
            new SerializableStateObservation(state).serialize(null);
        }
        List<Types.ACTIONS> actions = state.getAvailableActions(true);
        return actions.get(dice.nextInt(actions.size()));
    }

    @Override
    public Types.ACTIONS act(StateObservationMulti state, ElapsedCpuTimer timer) {
        throw new UnsupportedOperationException("two players");
    }
}
