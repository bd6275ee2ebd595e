import java.nio.file.Path;
import java.nio.file.Files;
import org.antlr.v4.runtime.BaseErrorListener;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.CommonTokenStream;
import org.antlr.v4.runtime.RecognitionException;
import org.antlr.v4.runtime.Recognizer;
import org.apache.hive.hplsql.HplsqlLexer;
import org.apache.hive.hplsql.HplsqlParser;

/** Reads files as SQL PL with the grammar of Apache Hive's HPL/SQL; prints each that it does not read, and why. */
class ReadSqlpl {
    public static void main(String[] files) throws Exception {
        for (String file : files) {
            HplsqlLexer lexer = new HplsqlLexer(CharStreams.fromPath(Path.of(file)));
            HplsqlParser parser = new HplsqlParser(new CommonTokenStream(lexer));
            BaseErrorListener first = new BaseErrorListener() {
                private boolean said;
                @Override
                public void syntaxError(Recognizer<?, ?> r, Object o, int line, int at, String why, RecognitionException e) {
                    if (!said) System.out.println(file + ": " + line + ":" + at + " " + why);
                    said = true;
                }
            };
            lexer.removeErrorListeners();
            parser.removeErrorListeners();
            lexer.addErrorListener(first);
            parser.addErrorListener(first);
            parser.program();
        }
    }
}
